import { createLines } from '../describe/lines.ts';
import { writePodTemplate } from '../describe/pod-template.ts';
import { visible } from '../printers/visible.ts';
import type { WorkloadRevision } from './revisions.ts';

/** The revisions as kubectl's table. */
export function historyText(revisions: readonly WorkloadRevision[]): string {
  if (revisions.length === 0) return 'No rollout history found.\n';
  const width = Math.max('REVISION'.length, ...revisions.map(({ number }) => String(number).length)) + 2;
  const line = (number: string, cause: string): string => `${number.padEnd(width)}${visible(cause.split('\n')[0] ?? '')}\n`;
  return (
    line('REVISION', 'CHANGE-CAUSE') + revisions.map((each) => line(String(each.number), each.changeCause || '<none>')).join('')
  );
}

/** The template of one revision, with what was said of the change. */
export function revisionText({ template, changeCause }: WorkloadRevision): string {
  const lines = createLines();
  const metadata = (template.metadata ?? {}) as { readonly annotations?: object };
  const annotations = { ...metadata.annotations, ...(changeCause && { 'kubernetes.io/change-cause': changeCause }) };
  writePodTemplate({ ...template, metadata: { ...metadata, annotations } }, lines);
  return lines.text();
}
