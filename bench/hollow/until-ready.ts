import type { Node } from '../../api/generated/types.ts';
import { isConditionTrue } from '../../api/meta/conditions.ts';
import { linkAbort, onAbort } from '../../client/abort.ts';
import type { Clock } from '../../client/clock.ts';
import { type Client, createInformer } from '../../client/index.ts';
import type { Logger } from '../../client/logger.ts';

export interface ReadyWait {
  readonly client: Pick<Client, 'nodes'>;
  readonly names: readonly string[];
  /** What those say that have registered since this start; others may be ready from before. */
  readonly bootID: string;
  /** Told when another node has become ready. */
  onProgress?(ready: number): void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Watches the nodes until the API says that all of these are ready, or until aborted. */
export async function untilReady(wait: ReadyWait, signal: AbortSignal): Promise<void> {
  const { client, names, bootID, clock, logger } = wait;
  const missing = new Set(names);
  if (missing.size === 0) return;
  const watching = linkAbort(signal);
  const nodes = createInformer<Node>({ client: client.nodes, transform: kept, name: 'nodes', clock, logger });
  const all = new Promise<void>((resolve) => {
    const look = ({ metadata, status }: Node) => {
      const isReady = status?.nodeInfo?.bootID === bootID && isConditionTrue(status.conditions, 'Ready');
      if (!isReady || !missing.delete(metadata?.name ?? '')) return;
      wait.onProgress?.(names.length - missing.size);
      if (missing.size === 0) resolve();
    };
    nodes.addHandler({ name: 'ready', onAdd: look, onUpdate: look });
  });
  let unlink = () => {};
  const aborted = new Promise<void>((resolve) => {
    unlink = onAbort(signal, resolve);
  });
  const running = nodes.run(watching.signal);
  await Promise.race([all, aborted]);
  unlink();
  watching.abort();
  watching.unlink();
  await running;
}

/** Of many nodes only what is looked at. */
function kept({ metadata, status }: Node): Node {
  const { name, uid, resourceVersion } = metadata ?? {};
  const bootID = status?.nodeInfo?.bootID;
  return {
    metadata: { name, uid, resourceVersion },
    status: { conditions: status?.conditions, ...(bootID !== undefined && { nodeInfo: { bootID } }) },
  } as Node;
}
