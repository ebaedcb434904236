import { isDefaultClass } from '../../api/kinds/storage-class/default-class.ts';
import type { Describer } from './describer.ts';
import { list, strings, type Tree, text, tree } from './json.ts';
import { pairs } from './lines.ts';
import { writeLabels, writeName } from './sections.ts';

/** Who makes its volumes, when, where, and what becomes of them. */
export const describeStorageClass: Describer = async (object) => (lines) => {
  writeName(object, lines);
  lines.field('IsDefaultClass', isDefaultClass(object) ? 'Yes' : 'No');
  writeLabels(object, lines);
  lines.field('Provisioner', text(object, 'provisioner'));
  lines.field('Parameters', pairs(tree(object, 'parameters')));
  lines.field('AllowVolumeExpansion', text(object, 'allowVolumeExpansion') || 'False');
  lines.field('ReclaimPolicy', text(object, 'reclaimPolicy'));
  lines.field('VolumeBindingMode', text(object, 'volumeBindingMode'));
  lines.field('AllowedTopologies', list(object, 'allowedTopologies').map(termText));
};

function termText(term: Tree): string {
  const rules = list(term, 'matchLabelExpressions');
  return rules.map((rule) => `${text(rule, 'key')} in [${strings(rule, 'values').join(', ')}]`).join(' and ');
}
