import { asApiError } from '../api/errors/index.ts';

/**
 * Does the same for each of many objects, one after the other. One that cannot be written does not keep the others from
 * it: the first failure is thrown at the end. A fault of the server's is thrown at once, for it would meet all of them.
 */
export async function attemptEach<T>(items: Iterable<T>, attempt: (item: T) => Promise<void>): Promise<void> {
  const failures: unknown[] = [];
  for (const item of items) {
    try {
      await attempt(item);
    } catch (error) {
      if (isServerFault(error)) throw error;
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}

/** How many writes of `attemptTogether` may be under way. */
const mostTogether = 100;

/**
 * The same for a hundred at a time: their writes share the server's commits, where one after the other each would wait
 * for a commit of its own. A fault of the server's is thrown when the hundred that met it have been tried.
 */
export async function attemptTogether<T>(items: readonly T[], attempt: (item: T) => Promise<void>): Promise<void> {
  const failures: unknown[] = [];
  for (let begun = 0; begun < items.length; begun += mostTogether) {
    const results = await Promise.allSettled(items.slice(begun, begun + mostTogether).map(attempt));
    failures.push(...results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : [])));
    const fault = failures.find(isServerFault);
    if (fault) throw fault;
  }
  if (failures.length > 0) throw failures[0];
}

const serverFaults = ['UNAVAILABLE', 'DEADLINE_EXCEEDED', 'RESOURCE_EXHAUSTED', 'CANCELLED', 'INTERNAL'];

/** Whether the API server did not do its part; everything else is about the object, and says nothing of the others. */
export function isServerFault(error: unknown): boolean {
  return serverFaults.includes(asApiError(error)?.code ?? '');
}
