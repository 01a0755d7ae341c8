import { Start } from "./0001-start.ts";

/** Every migration, oldest first. A name once released is never given again. */
export const migrations = [{ name: "0001_start", class: Start }];
