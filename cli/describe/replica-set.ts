import { formatLabels } from '../../api/meta/labels.ts';
import type { OwnedPods } from '../workload/owned-pods.ts';
import { list, type Tree, tree } from './json.ts';
import type { Lines } from './lines.ts';
import { writePodTemplate } from './pod-template.ts';
import { writeConditions, writeController, writeDeletion, writeLabels, writeName } from './sections.ts';
import { number, templateIn, workloadDescriber, writePodCounts, writeSelector } from './workload.ts';

/** Desired and current replicas, and the pod template. */
export const describeReplicaSet = workloadDescriber('ReplicaSet', (object, owned, lines, now) => {
  writeName(object, lines);
  writeSelector(tree(object, 'spec', 'selector'), lines);
  writeRest(object, owned, lines, now);
});

export const describeReplicationController = workloadDescriber('ReplicationController', (object, owned, lines, now) => {
  writeName(object, lines);
  lines.field('Selector', formatLabels(tree(object, 'spec', 'selector') as Record<string, string>) || undefined);
  writeRest(object, owned, lines, now);
});

function writeRest(object: Tree, { pods }: OwnedPods, lines: Lines, now: Date): void {
  writeLabels(object, lines);
  writeDeletion(object, lines, now);
  writeController(object, lines);
  lines.field('Replicas', `${number(object, 'status', 'replicas')} current / ${number(object, 'spec', 'replicas')} desired`);
  writePodCounts(pods, lines);
  writePodTemplate(templateIn(object), lines);
  if (list(object, 'status', 'conditions').length > 0) writeConditions(object, lines);
}
