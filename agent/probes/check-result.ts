/**
 * The result of one check. `warning` counts as a success and is reported. `error` says nothing about the container (the
 * engine is away, the port name is unknown): it is reported and does not count.
 */
export interface CheckResult {
  readonly outcome: 'success' | 'warning' | 'failure' | 'error';
  /** For people, in kubelet's words. */
  readonly output: string;
}

/** How much a check reads of what a container answers; kubelet's figure. */
export const maxOutputBytes = 10 * 1024;

export const success: CheckResult = { outcome: 'success', output: '' };
export const failure = (output: string): CheckResult => ({ outcome: 'failure', output });
export const problem = (output: string): CheckResult => ({ outcome: 'error', output });

/** "10.0.0.1:80", "[fd00::1]:80". */
export function joinHostPort({ host, port }: { readonly host: string; readonly port: number }): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
