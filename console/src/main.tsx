import "./mantine.css";
import "./console.css";
import { MantineProvider } from "@mantine/core";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { createRoot } from "react-dom/client";
import { queryClient, refresh } from "./api/client.ts";
import { accessToken } from "./auth/session.ts";
import { keepFocus } from "./components/kept-focus.ts";
import { showLostAnswers } from "./components/lost-answers.tsx";
import { STYLE_NONCE } from "./environment.ts";
import { router } from "./router.tsx";
import { THEME, VARIABLES } from "./theme.ts";

// At once, beside the loading of the screen. The page that takes an answer has no token yet, or needs none.
if (!location.pathname.endsWith("/callback")) accessToken().catch(() => undefined); // the first call says why

// As it was left, in a browser that keeps pages: the session may have ended since.
addEventListener("pageshow", ({ persisted }) => persisted && refresh());

showLostAnswers();
keepFocus();

const root = document.getElementById("root");
if (root !== null) createRoot(root).render(<App />);

function App() {
  return (
    <MantineProvider theme={THEME} defaultColorScheme="auto" getStyleNonce={() => STYLE_NONCE} cssVariablesResolver={VARIABLES}>
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>
  );
}
