import { list, type Tree, text, tree } from './json.ts';
import { writePodTemplate } from './pod-template.ts';
import { writeConditions, writeLabels, writeName } from './sections.ts';
import { number, templateIn, workloadDescriber, writeCreation, writeSelector } from './workload.ts';

/** What it wants and has, how it rolls out, its template, and its ReplicaSets. */
export const describeDeployment = workloadDescriber('Deployment', (object, { sets, newSet }, lines, now) => {
  writeName(object, lines);
  writeCreation(object, lines, now);
  writeLabels(object, lines);
  writeSelector(tree(object, 'spec', 'selector'), lines);
  const counts = [
    `${number(object, 'spec', 'replicas')} desired`,
    `${number(object, 'status', 'updatedReplicas')} updated`,
    `${number(object, 'status', 'replicas')} total`,
    `${number(object, 'status', 'availableReplicas')} available`,
    `${number(object, 'status', 'unavailableReplicas')} unavailable`,
  ];
  lines.field('Replicas', counts.join(' | '));
  if (text(object, 'spec', 'paused') === 'true') lines.field('Paused', 'True');
  lines.field('StrategyType', text(object, 'spec', 'strategy', 'type'));
  lines.field('MinReadySeconds', number(object, 'spec', 'minReadySeconds'));
  const rolling = tree(object, 'spec', 'strategy', 'rollingUpdate');
  if (Object.keys(rolling).length > 0) {
    const [unavailable, surge] = [number(rolling, 'maxUnavailable'), number(rolling, 'maxSurge')];
    lines.field('RollingUpdateStrategy', `${unavailable} max unavailable, ${surge} max surge`);
  }
  writePodTemplate(templateIn(object), lines);
  if (list(object, 'status', 'conditions').length > 0) writeConditions(object, lines);
  if (sets.length === 0) return;
  lines.field(
    'OldReplicaSets',
    sets
      .filter((set) => set !== newSet)
      .map(setText)
      .join(', ') || undefined,
  );
  lines.field('NewReplicaSet', newSet && setText(newSet));
});

function setText(set: Tree): string {
  const counts = `${number(set, 'status', 'replicas')}/${number(set, 'spec', 'replicas')}`;
  return `${text(set, 'metadata', 'name')} (${counts} replicas created)`;
}
