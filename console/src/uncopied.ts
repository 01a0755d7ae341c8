/** Marks a secret in this document that was not copied yet. No other page shows it. */
export const UNCOPIED = "data-uncopied";
export const uncopied = (): NodeListOf<Element> => document.querySelectorAll(`[${UNCOPIED}]`);
