import { writeSizes, writeTitle } from './config-map.ts';
import type { Describer } from './describer.ts';
import { text, tree } from './json.ts';
import { writeDeletion, writeLabels, writeName } from './sections.ts';

/**
 * The keys with the sizes of their values, never a value: descriptions end up in tickets and on screens that others
 * see.
 */
export const describeSecret: Describer =
  async (object, { now }) =>
  (lines) => {
    writeName(object, lines);
    writeLabels(object, lines);
    writeDeletion(object, lines, now);
    if (object.immutable === true) lines.field('Immutable', 'true');
    lines.line('');
    lines.field('Type', text(object, 'type'));
    writeTitle('Data', lines);
    writeSizes(tree(object, 'data'), lines);
    lines.line('');
  };
