import { Alert, Button, Center, Loader, Stack, Text } from "@mantine/core";
import { createRoute, useNavigate } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { BASE } from "../environment.ts";
import { ROOT } from "../frame/routes.tsx";
import { T } from "../texts/texts.ts";
import { CHANNEL, isForPopup } from "./code-flow.ts";
import { completeSignIn } from "./session.ts";

/** Where the authorization server redirects to. A window that was opened for a flow hands its answer on and closes. */
function Callback() {
  const navigate = useNavigate();
  const [error, setError] = useState<Error>();
  const isPopup = isForPopup(new URLSearchParams(location.search));
  useEffect(() => {
    if (isPopup) {
      const channel = new BroadcastChannel(CHANNEL);
      channel.postMessage(location.search);
      channel.close();
      window.close();
    } else
      completeSignIn().then((returnTo) => navigate({ href: returnTo?.slice(`${BASE}/console`.length) || "/", replace: true }), setError);
  }, [navigate, isPopup]);
  return (
    <Center h="100dvh" component="main">
      {error !== undefined ? (
        <Refused reason={error.message} />
      ) : isPopup ? (
        <Text>{T.common.closeWindow}</Text>
      ) : (
        <Loader aria-label={T.common.signingIn} />
      )}
    </Center>
  );
}

/** Stays until the user wants to try again: by itself, the console would be refused the same way without end. */
const Refused = ({ reason }: { readonly reason: string }) => (
  <Alert color="red" role="alert" title={T.failure.title}>
    <Stack align="flex-start">
      <Text>{T.proof.refused}</Text>
      <Text className="foreign">{reason}</Text>
      <Button component="a" href={`${BASE}/console`} variant="default">
        {T.common.retry}
      </Button>
    </Stack>
  </Alert>
);

/** For a sign-in to the console, and for the flow of a client that is tried. */
export const callbackRoutes = [
  createRoute({ getParentRoute: () => ROOT, path: "/callback", component: Callback }),
  createRoute({ getParentRoute: () => ROOT, path: "/try/callback", component: Callback }),
] as const;
