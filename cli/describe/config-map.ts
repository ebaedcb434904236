import type { Describer } from './describer.ts';
import { tree } from './json.ts';
import type { Lines } from './lines.ts';
import { writeDeletion, writeLabels, writeName } from './sections.ts';

/** The data whole, since people look for it; of binary data the sizes. */
export const describeConfigMap: Describer =
  async (object, { now }) =>
  (lines) => {
    writeName(object, lines);
    writeLabels(object, lines);
    writeDeletion(object, lines, now);
    if (object.immutable === true) lines.field('Immutable', 'true');
    writeTitle('Data', lines);
    for (const [key, value] of Object.entries(tree(object, 'data'))) {
      lines.line(`${key}:`);
      lines.line('----');
      for (const line of String(value).replace(/\n$/, '').split('\n')) lines.line(line);
      lines.line('');
    }
    writeTitle('BinaryData', lines);
    writeSizes(tree(object, 'binaryData'), lines);
    lines.line('');
  };

/** A heading with a line below it. */
export function writeTitle(title: string, lines: Lines): void {
  lines.line('');
  lines.line(title);
  lines.line('='.repeat(title.length));
}

/** How long each of the values is, which stand there in base64. */
export function writeSizes(data: { readonly [key: string]: unknown }, lines: Lines): void {
  for (const [key, value] of Object.entries(data)) lines.field(key, `${Buffer.from(String(value), 'base64').length} bytes`);
}
