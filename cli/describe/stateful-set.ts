import { list, strings, type Tree, text, tree } from './json.ts';
import { type Lines, pairs } from './lines.ts';
import { writePodTemplate } from './pod-template.ts';
import { writeConditions, writeLabels, writeName } from './sections.ts';
import { number, templateIn, workloadDescriber, writeCreation, writePodCounts, writeSelector } from './workload.ts';

/** What it wants and has, how it is updated, its template, and the claims of its pods. */
export const describeStatefulSet = workloadDescriber('StatefulSet', (object, { pods }, lines, now) => {
  writeName(object, lines);
  writeCreation(object, lines, now);
  writeSelector(tree(object, 'spec', 'selector'), lines);
  writeLabels(object, lines);
  lines.field('Replicas', `${number(object, 'spec', 'replicas')} desired | ${number(object, 'status', 'replicas')} total`);
  lines.field('Update Strategy', text(object, 'spec', 'updateStrategy', 'type'));
  const rolling = tree(object, 'spec', 'updateStrategy', 'rollingUpdate');
  for (const [label, name] of [
    ['  Partition', 'partition'],
    ['  MaxUnavailable', 'maxUnavailable'],
  ] as const)
    if (text(rolling, name)) lines.field(label, text(rolling, name));
  writePodCounts(pods, lines);
  writePodTemplate(templateIn(object), lines);
  writeClaims(list(object, 'spec', 'volumeClaimTemplates'), lines);
  if (list(object, 'status', 'conditions').length > 0) writeConditions(object, lines);
});

function writeClaims(claims: readonly Tree[], lines: Lines): void {
  if (claims.length === 0) {
    lines.field('Volume Claims', undefined);
    return;
  }
  lines.section('Volume Claims', (inner) => {
    for (const claim of claims) {
      inner.field('Name', text(claim, 'metadata', 'name'));
      inner.field('StorageClass', text(claim, 'spec', 'storageClassName'));
      inner.field('Labels', pairs(tree(claim, 'metadata', 'labels')));
      inner.field('Annotations', pairs(tree(claim, 'metadata', 'annotations'), ': '));
      inner.field('Capacity', text(claim, 'spec', 'resources', 'requests', 'storage') || '<default>');
      inner.field('Access Modes', strings(claim, 'spec', 'accessModes').join(', '));
    }
  });
}
