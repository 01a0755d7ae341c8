/** Whether this front still wants traffic. One per process. */
export interface Lifecycle {
  isDraining(): boolean;
  /** From here on health says `draining` and every answer closes its connection. Idempotent. */
  startDraining(): void;
}

export function lifecycle(): Lifecycle {
  let draining = false;
  return {
    isDraining: () => draining,
    startDraining() {
      draining = true;
    },
  };
}
