import { Button, type ButtonProps } from "@mantine/core";
import { createLink } from "@tanstack/react-router";
import type { ComponentPropsWithRef } from "react";

type AnchorButtonProps = ButtonProps & Omit<ComponentPropsWithRef<"a">, keyof ButtonProps>;

/** A link that looks like a button, with the typed `to`, `params` and `search` of the router. */
export const LinkButton = createLink((props: AnchorButtonProps) => <Button component="a" {...props} />);
