import type { Node } from '../../api/generated/types.ts';
import type { Session } from '../session.ts';
import { type DryRun, dryRunNotes } from '../write/write-options.ts';

export interface CordonWish {
  /** Whether the node is to get no new pods. */
  readonly wanted: boolean;
  readonly dryRun?: DryRun | undefined;
}

/** Marks the node as one that gets no new pods, or takes that back, and says so. */
export async function setCordon({ client }: Session, node: Node, { wanted, dryRun = 'none' }: CordonWish): Promise<void> {
  const { name = '', uid } = node.metadata ?? {};
  const word = wanted ? 'cordoned' : 'uncordoned';
  const is = (node.spec?.unschedulable ?? false) === wanted;
  if (!is && dryRun !== 'client') {
    const patch = { metadata: { uid }, spec: { unschedulable: wanted || null } };
    const options = { fieldManager: `berth-${wanted ? 'cordon' : 'uncordon'}`, dryRun: dryRun === 'server' ? ['All'] : [] };
    await client.objects.patch('Node', { name }, patch, options);
  }
  process.stdout.write(`node/${name} ${is ? `already ${word}` : word}${dryRunNotes[dryRun]}\n`);
}
