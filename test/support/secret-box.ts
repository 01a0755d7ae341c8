import { secretBox } from "../../src/secret-box.ts";

/** A secret box with a fixed key. */
export const A_SECRET_BOX = secretBox(() => Buffer.alloc(32, 7).toString("base64"));
