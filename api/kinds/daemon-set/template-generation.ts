import type { DaemonSet } from '../../generated/types.ts';
import { equalValues } from '../../meta/equal.ts';
import { workloadAnnotations } from '../../meta/workload-names.ts';

const name = workloadAnnotations.templateGeneration;
const largest = Number.MAX_SAFE_INTEGER;

/**
 * How often the template of a DaemonSet has been another, from 1: the server counts it in an annotation, and pods have
 * it as a label. Absent: the annotation is no number.
 */
export function templateGenerationOf({ metadata }: DaemonSet): number | undefined {
  const text = metadata?.annotations?.[name] ?? '';
  const count = /^[1-9]\d*$/.test(text) ? Number(text) : undefined;
  return count !== undefined && count < largest ? count : undefined;
}

/** Counts the first template; from what the client says, where it says it. */
export function countTemplate(object: DaemonSet): void {
  note(object, templateGenerationOf(object) ?? 1);
}

/** The count is the server's: what a client writes there is passed over. */
export function countTemplateChange(next: DaemonSet, previous: DaemonSet): void {
  const before = templateGenerationOf(previous) ?? 1;
  note(next, equalValues(next.spec?.template, previous.spec?.template) ? before : before + 1);
}

function note(object: DaemonSet, count: number): void {
  object.metadata = { ...object.metadata, annotations: { ...object.metadata?.annotations, [name]: String(count) } };
}
