import "@mantine/core/styles.css";
import "@mantine/notifications/styles.css";
import "@mantine/spotlight/styles.css";
import "./console.css";
import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";
import { accessToken } from "./auth/session.ts";
import { showLostAnswers } from "./components/lost-answers.tsx";

// At once, beside the loading of the screen. The page that takes an answer has no token yet, or needs none.
if (!location.pathname.endsWith("/callback")) accessToken().catch(() => undefined); // the first call says why

showLostAnswers();

const root = document.getElementById("root");
if (root !== null) createRoot(root).render(<App />);
