import { Badge, type CSSVariablesResolver, createTheme, type MantineColorsTuple, Modal, Notification, Text } from "@mantine/core";
import { T } from "./texts/texts.ts";

/** The blue of the hosted pages, from light to dark. */
const BLUE: MantineColorsTuple = [
  "#eef2ff",
  "#dbe3fb",
  "#b4c4f4",
  "#8aa2ee",
  "#6785e8",
  "#4a6ce0",
  "#3a5dd6",
  "#2b50c8",
  "#2344ad",
  "#193590",
];

export const THEME = createTheme({
  primaryColor: "blue",
  primaryShade: { light: 7, dark: 8 },
  colors: { blue: BLUE },
  fontFamily: "system-ui, sans-serif",
  fontFamilyMonospace: "ui-monospace, monospace",
  defaultRadius: "md",
  cursorType: "pointer",
  respectReducedMotion: true,
  headings: {
    fontWeight: "650",
    sizes: {
      h1: { fontSize: "1.625rem", lineHeight: "1.25" },
      h2: { fontSize: "1.1875rem", lineHeight: "1.3" },
      h3: { fontSize: "1.0625rem", lineHeight: "1.35" },
      h4: { fontSize: "1rem", lineHeight: "1.4" },
    },
  },
  components: {
    Text: Text.extend({ defaultProps: { size: "sm" } }),
    Badge: Badge.extend({ defaultProps: { variant: "light", c: "var(--mantine-color-text)", tt: "none", fw: 600, miw: "max-content" } }),
    // The page has a banner already.
    Modal: Modal.extend({ defaultProps: { attributes: { header: { role: "none" } }, closeButtonProps: { "aria-label": T.common.close } } }),
    Notification: Notification.extend({ defaultProps: { closeButtonProps: { "aria-label": T.common.close } } }),
  },
});

/** The colours of texts that Mantine sets too faintly to be read by everyone (WCAG 2.2 §1.4.3). */
const darkText = { dimmed: "#495057", placeholder: "#5c6570", error: "#a51111", "red-outline": "#a51111" };
const lightText = { dimmed: "#b8bec6", placeholder: "#9aa1ab", error: "#ffa8a8", "red-outline": "#ffa8a8" };

const variables = (texts: Readonly<Record<string, string>>, tinted: string) => ({
  ...Object.fromEntries(Object.entries(texts).map(([name, colour]) => [`--mantine-color-${name}`, colour])),
  ...Object.fromEntries(["red", "yellow", "teal", "gray", "blue"].map((name) => [`--mantine-color-${name}-light-color`, tinted])),
});

export const VARIABLES: CSSVariablesResolver = () => ({
  variables: {},
  light: variables(darkText, "#1b2330"),
  dark: variables(lightText, "#f1f3f5"),
});
