/**
 * How commands in containers ended, as the engine's events tell it: cheaper than asking the engine.
 * Only what is expected is kept.
 */
export interface ExecExits {
  /** Before the command is started, so that no event comes too early. */
  expect(exec: string): ExpectedExit;
  /** An event said so. */
  note(exec: string, exitCode: number): void;
}

export interface ExpectedExit {
  /**
   * Resolves with the exit code from the event, or undefined after so many milliseconds. Events may be lost; then
   * inspect the exec.
   */
  within(ms: number): Promise<number | undefined>;
  /** Wakes the waiters, without a value. */
  forget(): void;
}

export function createExecExits(): ExecExits {
  const expected = new Map<string, (exitCode: number) => void>();
  return {
    expect(exec) {
      let told: number | undefined;
      let wake: (() => void) | undefined;
      expected.set(exec, (exitCode) => {
        told = exitCode;
        wake?.();
      });
      return {
        async within(ms) {
          if (told !== undefined) return told;
          await new Promise<void>((resolve) => {
            const timer = setTimeout(resolve, ms);
            wake = () => {
              clearTimeout(timer);
              resolve();
            };
          });
          return told;
        },
        forget() {
          expected.delete(exec);
          wake?.();
        },
      };
    },
    note: (exec, exitCode) => expected.get(exec)?.(exitCode),
  };
}
