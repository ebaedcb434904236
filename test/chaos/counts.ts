/** Prints what a test did as one line that hack/chaos collects into its table. */
export function printCounts(title: string, counts: Readonly<Record<string, number | string>>): void {
  process.stdout.write(`${title}: ${JSON.stringify(counts)}\n`);
}
