import { join } from 'node:path';
import { runAgent } from '../../agent/main.ts';
import { labels } from '../../api/meta/well-known.ts';
import { type Client, type ConnectOptions, connect } from '../../client/index.ts';
import type { Logger } from '../../client/logger.ts';
import { issueIdentity } from './identity.ts';
import { hollowNodeName } from './options.ts';
import { createPodBook } from './pod-book.ts';
import { type HollowShared, hollowPorts } from './ports.ts';

export interface HollowNodeOptions {
  readonly shared: HollowShared;
  readonly index: number;
  /** How an administrator connects, and a client of that kind for all nodes. */
  readonly admin: ConnectOptions;
  readonly client: Client;
  /** Where agents keep what they keep; a folder for each. */
  readonly stateDir: string;
  readonly logger: Logger;
}

/** An agent that has its identity, and runs until aborted. */
export interface StartedNode {
  readonly nodeName: string;
  readonly ended: Promise<void>;
}

/**
 * Gets the node's certificate and starts its agent, which has a connection of its own. Throws what issueIdentity
 * throws.
 */
export async function startHollowNode(options: HollowNodeOptions, signal: AbortSignal): Promise<StartedNode> {
  const { shared, index, admin, client, stateDir, logger } = options;
  const { namePrefix, zones } = shared.options;
  const nodeName = hollowNodeName(namePrefix, index);
  const { clock } = shared;
  const held = await issueIdentity({ client, nodeName, ca: admin.ca, clock, signal });
  const own = connect({ address: admin.address, ca: admin.ca, certificate: held.current, userAgent: `berth-hollow/${nodeName}` });
  const book = createPodBook(shared.options, logger);
  const ports = hollowPorts(shared, { nodeName, index, nodeDir: join(stateDir, 'node', nodeName), book });
  const given: Record<string, string> = zones > 0 ? { [labels.zone]: `zone-${index % zones}` } : {};
  const ended = runAgent(
    {
      client: { ...own, pods: book.reading(own.pods) },
      nodeName,
      dataDir: stateDir,
      held,
      registration: { labels: { [hollowLabel]: namePrefix, ...given }, taints: [] },
      ports,
      logger,
      clock,
    },
    signal,
  ).finally(() => own.close());
  return { nodeName, ended };
}

/** On every hollow node: its prefix. */
export const hollowLabel = 'hollow.berth.io/nodes';
