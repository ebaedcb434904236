import type { Describer } from './describer.ts';
import { text } from './json.ts';
import { writeLabels, writeName } from './sections.ts';

/** The value of a priority class, and its description. */
export const describePriorityClass: Describer = async (object) => (lines) => {
  writeName(object, lines);
  writeLabels(object, lines);
  lines.field('Value', text(object, 'value') || '0');
  lines.field('GlobalDefault', text(object, 'globalDefault') || 'false');
  lines.field('PreemptionPolicy', text(object, 'preemptionPolicy'));
  lines.field('Description', text(object, 'description'));
};
