import type { PersistentVolumeClaim } from '../../api/generated/types.ts';
import { accessModesCell, claimsOf, storageClassOf } from '../../api/kinds/storage.ts';
import type { Describer } from './describer.ts';
import { strings, type Tree, text } from './json.ts';
import type { Lines } from './lines.ts';
import { writeConditions, writeDeletion, writeLabels, writeName } from './sections.ts';

/** The bound volume with its capacity, and the pods that use it. */
export const describePersistentVolumeClaim: Describer = async (object, { session: { client }, now }) => {
  const [name, namespace] = [text(object, 'metadata', 'name'), text(object, 'metadata', 'namespace')];
  const { listAll } = await import('../../client/index.ts');
  const { items } = await listAll(client.pods, { namespace });
  const users = items.filter((pod) => claimsOf(pod).includes(name)).map(({ metadata }) => metadata?.name ?? '');
  return (lines) => writeClaim(object, users, lines, now);
};

/** Pure. */
export function writeClaim(object: Tree, users: readonly string[], lines: Lines, now: Date): void {
  writeName(object, lines);
  lines.field('StorageClass', storageClassOf(object as PersistentVolumeClaim));
  if (text(object, 'metadata', 'deletionTimestamp')) writeDeletion(object, lines, now);
  else lines.field('Status', text(object, 'status', 'phase'));
  lines.field('Volume', text(object, 'spec', 'volumeName'));
  writeLabels(object, lines);
  // Of one that is being deleted they stand beside its status.
  if (!text(object, 'metadata', 'deletionTimestamp')) lines.field('Finalizers', strings(object, 'metadata', 'finalizers'));
  const has = text(object, 'spec', 'volumeName') !== '';
  lines.field('Capacity', has ? text(object, 'status', 'capacity', 'storage') : '');
  lines.field('Requested', text(object, 'spec', 'resources', 'requests', 'storage'));
  lines.field('Access Modes', accessModesCell(strings(object, has ? 'status' : 'spec', 'accessModes')));
  lines.field('VolumeMode', text(object, 'spec', 'volumeMode'));
  lines.field('Used By', users);
  if (strings(object, 'status', 'conditions').length > 0) writeConditions(object, lines);
}
