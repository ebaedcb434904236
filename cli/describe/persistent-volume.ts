import type { PersistentVolume } from '../../api/generated/types.ts';
import { accessModesCell, storageClassOf } from '../../api/kinds/storage.ts';
import type { Describer } from './describer.ts';
import { writeTree } from './generic.ts';
import { list, strings, type Tree, text, tree } from './json.ts';
import type { Lines } from './lines.ts';
import { writeDeletion, writeLabels, writeName } from './sections.ts';

/** Who has it, what becomes of it, from where it is reached and where the data are. */
export const describePersistentVolume: Describer =
  async (object, { now }) =>
  (lines) => {
    const spec = tree(object, 'spec');
    writeName(object, lines);
    writeLabels(object, lines);
    // Of one that is being deleted they stand beside its status.
    if (!text(object, 'metadata', 'deletionTimestamp')) lines.field('Finalizers', strings(object, 'metadata', 'finalizers'));
    lines.field('StorageClass', storageClassOf(object as PersistentVolume));
    if (text(object, 'metadata', 'deletionTimestamp')) writeDeletion(object, lines, now);
    else lines.field('Status', text(object, 'status', 'phase'));
    for (const [label, part] of [
      ['Reason', 'reason'],
      ['Message', 'message'],
    ] as const)
      if (text(object, 'status', part)) lines.field(label, text(object, 'status', part));
    const claim = tree(spec, 'claimRef');
    lines.field('Claim', text(claim, 'name') && `${text(claim, 'namespace')}/${text(claim, 'name')}`);
    lines.field('Reclaim Policy', text(spec, 'persistentVolumeReclaimPolicy'));
    lines.field('Access Modes', accessModesCell(strings(spec, 'accessModes')));
    lines.field('VolumeMode', text(spec, 'volumeMode'));
    lines.field('Capacity', text(spec, 'capacity', 'storage'));
    writeAffinity(spec, lines);
    lines.section('Source', (inner) => {
      for (const source of ['local', 'hostPath']) if (spec[source]) writeTree({ [source]: spec[source] }, inner);
    });
  };

function writeAffinity(spec: Tree, lines: Lines): void {
  const terms = list(spec, 'nodeAffinity', 'required', 'nodeSelectorTerms').map((term) =>
    [...list(term, 'matchFields'), ...list(term, 'matchExpressions')].map(ruleText).join(' and '),
  );
  lines.field('Node Affinity', terms);
}

function ruleText(rule: Tree): string {
  const values = strings(rule, 'values');
  return [text(rule, 'key'), text(rule, 'operator').toLowerCase(), ...(values.length > 0 ? [`[${values.join(', ')}]`] : [])].join(
    ' ',
  );
}
