export interface SlowStartResult {
  readonly succeeded: number;
  /** What the first call that failed threw; after it no further batch was begun. */
  readonly failure?: { readonly error: unknown } | undefined;
}

/**
 * Makes `count` calls in batches of 1, 2, 4 and so on, each batch at once, and stops after a batch in which one failed:
 * where all would fail for the same reason (a quota, a webhook) few are made in vain.
 */
export async function slowStart(count: number, call: (index: number) => Promise<void>): Promise<SlowStartResult> {
  let succeeded = 0;
  for (let begun = 0, size = 1; begun < count; size *= 2) {
    const batch = Math.min(size, count - begun);
    const results = await Promise.allSettled(Array.from({ length: batch }, (_, at) => call(begun + at)));
    begun += batch;
    succeeded += results.filter(({ status }) => status === 'fulfilled').length;
    const failed = results.find((result) => result.status === 'rejected');
    if (failed) return { succeeded, failure: { error: failed.reason } };
  }
  return { succeeded };
}
