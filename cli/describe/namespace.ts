import type { Describer } from './describer.ts';
import { list, text } from './json.ts';
import { writeConditions, writeDeletion, writeLabels, writeName } from './sections.ts';

/** Whether it is in use or being emptied, and then what it still waits for. */
export const describeNamespace: Describer =
  async (object, { now }) =>
  (lines) => {
    writeName(object, lines);
    writeLabels(object, lines);
    if (text(object, 'metadata', 'deletionTimestamp')) writeDeletion(object, lines, now);
    else lines.field('Status', text(object, 'status', 'phase'));
    if (list(object, 'status', 'conditions').length > 0) writeConditions(object, lines);
  };
