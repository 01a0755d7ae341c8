import type { ReactNode } from "react";

/** A form that the browser does not send. */
export const Form = ({ onSubmit, children }: { readonly onSubmit: () => unknown; readonly children: ReactNode }) => (
  <form
    onSubmit={(event) => {
      event.preventDefault();
      onSubmit();
    }}
  >
    {children}
  </form>
);
