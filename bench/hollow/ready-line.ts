/** What the process of hollow nodes writes to its output once all are ready, and nothing before that. */
export function readyLine(count: number, seconds: number): string {
  return `${count} hollow nodes are ready after ${seconds.toFixed(1)} s`;
}
