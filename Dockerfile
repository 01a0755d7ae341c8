# Countersign in production: no build, no development tools, no root.
FROM node:24-bookworm-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY admin/package.json admin/
COPY guard-sdk/package.json guard-sdk/
# The runtime that npm can bring is left out (it is an optional package): the image has its own.
RUN npm ci --omit=dev --omit=optional --ignore-scripts

FROM node:24-bookworm-slim
ENV NODE_ENV=production HOST=0.0.0.0 DATA_DIR=/data
WORKDIR /app
COPY --from=dependencies /app/node_modules node_modules
COPY package.json LICENSE ./
COPY admin admin
COPY guard-sdk guard-sdk
COPY deploy/health.ts deploy/
COPY src src
RUN install --directory --owner=node --group=node --mode=0700 /data
USER node
VOLUME /data
EXPOSE 3000 3001
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s --retries=3 CMD ["node", "deploy/health.ts", "http"]
# A signal opens no debugger, and a diagnostic report does not repeat the environment, which may hold secrets.
ENTRYPOINT ["node", "--disable-sigusr1", "--report-exclude-env", "--conditions=countersign", "src/main.ts"]
CMD ["serve"]
