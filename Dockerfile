# Countersign in production: no build, no development tools, no root.
FROM node:24-bookworm-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY admin/package.json admin/
COPY agent-sdk/package.json agent-sdk/
COPY guard-sdk/package.json guard-sdk/
# The runtime that npm can bring is left out (it is an optional package): the image has its own.
RUN npm ci --omit=dev --omit=optional --ignore-scripts

FROM node:24-bookworm-slim
LABEL org.opencontainers.image.title="Countersign" \
  org.opencontainers.image.description="OAuth 2.1 and OpenID Connect authorization server for AI agents and MCP servers" \
  org.opencontainers.image.licenses="Apache-2.0"
ENV NODE_ENV=production HOST=0.0.0.0 DATA_DIR=/data
WORKDIR /app
COPY --from=dependencies /app/node_modules node_modules
COPY package.json LICENSE ./
COPY admin admin
COPY agent-sdk agent-sdk
COPY guard-sdk guard-sdk
COPY deploy/health.ts deploy/
COPY src src
RUN install --directory --owner=node --group=node --mode=0700 /data
# The user node, by its number: Kubernetes can tell that it is not root.
USER 1000:1000
VOLUME /data
EXPOSE 3000 3001
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s --retries=3 CMD ["node", "deploy/health.ts", "http"]
# A signal opens no debugger, and a diagnostic report does not repeat the environment, which may hold secrets.
ENTRYPOINT ["node", "--disable-sigusr1", "--report-exclude-env", "--conditions=countersign", "src/main.ts"]
CMD ["serve"]
