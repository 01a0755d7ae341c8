/** Outlines on a square of 24. */
const PATHS = {
  home: "M4 11 12 4l8 7M6 9.5V20h12V9.5M10 20v-6h4v6",
  resources: "M12 3 4 6v6c0 5 3.5 8 8 9 4.5-1 8-4 8-9V6zM9 12l2 2 4-4",
  clients: "M4 4h7v7H4zM13 4h7v7h-7zM4 13h7v7H4zM13 13h7v7h-7z",
  agents: "M12 3v4M8 7h8a3 3 0 0 1 3 3v7a3 3 0 0 1-3 3H8a3 3 0 0 1-3-3v-7a3 3 0 0 1 3-3zM9.5 12v2M14.5 12v2",
  users: "M9 11a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM2 21c0-4 3-7 7-7s7 3 7 7M16 3.500a4 4 0 0 1 0 7M18 14.500c2.5 1 4 3.5 4 6.5",
  audit: "M6 3h9l4 4v14H6zM9 11h7M9 15h7M9 7h3",
  explain: "M9 9a3 3 0 1 1 4.5 2.600c-1 .6-1.5 1.2-1.5 2.400M12 17.500v.5M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18z",
  keys: "M14 10a4 4 0 1 0-3.5 4L12 15.500h2v2h2v2h3v-3l-5.3-5.300M8 9v.1",
  workloads: "M12 3 20 7.500v9L12 21l-8-4.500v-9zM4 7.500l8 4.500 8-4.500M12 12v9",
  realms: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM3 12h18M12 3c3 3 3 15 0 18M12 3c-3 3-3 15 0 18",
  connections: "M14 4h6v16h-6M3 12h11M10 8l4 4-4 4",
  settings: "M4 7h9M17 7h3M4 12h3M11 12h9M4 17h9M17 17h3M15 5v4M9 10v4M15 15v4",
  search: "M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM16 16l5 5",
  theme: "M12 3a9 9 0 1 0 0 18zM12 3v18",
} as const;

export type IconName = keyof typeof PATHS;

/** Always beside a text or a label, so a screen reader passes it by. */
export const Icon = ({ name, size = 18 }: { readonly name: IconName; readonly size?: number }) => (
  <svg
    aria-hidden="true"
    width={size}
    height={size}
    viewBox="0 0 24 24"
    fill="none"
    stroke="currentColor"
    strokeWidth="1.8"
    strokeLinecap="round"
    strokeLinejoin="round"
  >
    <path d={PATHS[name]} />
  </svg>
);
