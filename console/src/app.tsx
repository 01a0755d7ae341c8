import { MantineProvider } from "@mantine/core";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { queryClient } from "./api/client.ts";
import { STYLE_NONCE } from "./environment.ts";
import { router } from "./router.tsx";
import { THEME, VARIABLES } from "./theme.ts";

export function App() {
  return (
    <MantineProvider theme={THEME} defaultColorScheme="auto" getStyleNonce={() => STYLE_NONCE} cssVariablesResolver={VARIABLES}>
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>
  );
}
