import type { LabelSelector } from '../../api/generated/types.ts';
import { type KindName, kindNamed } from '../../api/kinds/index.ts';
import { formatLabelSelector } from '../../api/meta/labels.ts';
import { type OwnedPods, readOwnedPods } from '../workload/owned-pods.ts';
import { type ExplainedTrouble, explainTroubles } from '../workload/trouble-tails.ts';
import { podNames, troubleHeadline } from '../workload/trouble-text.ts';
import { groupTroubles } from '../workload/troubles.ts';
import type { DescribeContext, Describer, Description } from './describer.ts';
import { type Tree, text, tree } from './json.ts';
import { type Lines, timeText } from './lines.ts';
import { writeDeletion } from './sections.ts';

// What the descriptions of workloads have in common.

/** A describer of a kind with pods: what `write` says, and behind the events the troubles of the pods. */
export function workloadDescriber(
  kindName: KindName,
  write: (object: Tree, owned: OwnedPods, lines: Lines, now: Date) => void,
): Describer {
  return async (object, context) => {
    const owned = await readOwnedPods(context.session.client.objects, kindNamed(kindName), object);
    return await withTroubles((lines) => write(object, owned, lines, context.now), owned.pods, context);
  };
}

/** A description with the troubles of these pods behind the events. */
export async function withTroubles(
  write: (lines: Lines) => void,
  pods: readonly Tree[],
  { now, logTails }: DescribeContext,
): Promise<Description> {
  const troubles = groupTroubles(pods, now.getTime()).filter(({ type }) => type !== 'starting');
  const explained = await explainTroubles(troubles, logTails);
  return Object.assign((lines: Lines) => write(lines), { afterEvents: (lines: Lines) => writeTroubles(explained, lines) });
}

/** Why pods are not up, those with one cause together, with the last lines of one of them. Pure. */
export function writeTroubles(troubles: readonly ExplainedTrouble[], lines: Lines): void {
  if (troubles.length === 0) return;
  lines.section('Pods in Trouble', (inner) => {
    for (const { trouble, lines: log, of } of troubles)
      inner.section(troubleHeadline(trouble), (body) => {
        body.line(podNames(trouble));
        if (log.length > 0)
          body.section(`Last Log Lines of ${of}`, (tail) => {
            for (const line of log) tail.line(line);
          });
      });
  });
}

export function number(object: Tree, ...path: readonly string[]): string {
  return text(object, ...path) || '0';
}

export function writeCreation(object: Tree, lines: Lines, now: Date): void {
  lines.field('CreationTimestamp', timeText(text(object, 'metadata', 'creationTimestamp')));
  writeDeletion(object, lines, now);
}

/** A LabelSelector as text. */
export function writeSelector(selector: Tree, lines: Lines): void {
  lines.field('Selector', formatLabelSelector(selector as LabelSelector) || undefined);
}

/** "2 Running / 1 Waiting / 0 Succeeded / 0 Failed". */
export function writePodCounts(pods: readonly Tree[], lines: Lines): void {
  const count = (phase: string): number => pods.filter((pod) => text(pod, 'status', 'phase') === phase).length;
  const counts = `${count('Running')} Running / ${count('Pending')} Waiting / ${count('Succeeded')} Succeeded / ${count('Failed')} Failed`;
  lines.field('Pods Status', counts);
}

export function templateIn(object: Tree): Tree {
  return tree(object, 'spec', 'template');
}
