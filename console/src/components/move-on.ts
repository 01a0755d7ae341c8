import { type NavigateOptions, useRouter } from "@tanstack/react-router";

interface Location {
  readonly pathname: string;
  readonly search: { readonly uri?: string; readonly client?: string; readonly name?: string };
}

/** The screen and the record that it shows, whatever its filters and its tab. */
export const placeOf = ({ pathname, search: { uri, client, name } }: Location): string => JSON.stringify([pathname, uri, client, name]);

/** Call the result when an act begins. What that returns moves on after the act, unless the user has left the screen by then. */
export function useMoveOn() {
  const router = useRouter();
  const place = (): string => placeOf(router.state.location);
  return () => {
    const begun = place();
    return async (to: NavigateOptions): Promise<void> => {
      if (place() === begun) await router.navigate(to);
    };
  };
}
