import { isPermissionDenied } from '../../api/errors/index.ts';
import type { NetCheck } from '../../api/generated/types.ts';
import type { Client } from '../../client/index.ts';
import { describeFailure } from '../program/failure.ts';

/** What one node's agent said, or why it said nothing. */
export type NodeCheck =
  | { readonly nodeName: string; readonly check: NetCheck }
  | { readonly nodeName: string; readonly error: string };

const atOnce = 20;
/** An agent asks other nodes for up to 15 s. */
const patienceMs = 30_000;

/** Lets each of the nodes look, several at once; in the order of the names. Throws PERMISSION_DENIED. */
export async function checkNodes({ netChecks }: Pick<Client, 'netChecks'>, names: readonly string[]): Promise<NodeCheck[]> {
  const checks: NodeCheck[] = [];
  const waiting = [...names.entries()];
  const checkNext = async (): Promise<void> => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const [at, nodeName] = next;
      try {
        checks[at] = { nodeName, check: await netChecks.ofNode(nodeName, { timeoutMs: patienceMs }) };
      } catch (error) {
        if (isPermissionDenied(error)) throw error;
        checks[at] = { nodeName, error: describeFailure(error) };
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, names.length) }, checkNext));
  return checks;
}
