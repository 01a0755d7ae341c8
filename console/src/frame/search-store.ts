import { createSpotlight } from "@mantine/spotlight";

export const [searchStore, { open: openSearch, close: closeSearch }] = createSpotlight();
