import { type Command, InvalidArgumentError, Option } from 'commander';
import { usualChunkSize } from './usual-chunk-size.ts';

export interface ChunkSizeFlags {
  /** 0: without pages, as far as the server sends all at once. */
  readonly chunkSize?: number;
}

/** Adds --chunk-size. */
export function withChunkSizeFlag(command: Command): Command {
  const size = new Option('--chunk-size <n>', 'read long lists in pages of so many objects; 0: all at once');
  return command.addOption(size.default(usualChunkSize).argParser(parseChunkSize));
}

function parseChunkSize(text: string): number {
  const size = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(size)) throw new InvalidArgumentError('It takes a whole number, 0 or more.');
  return size;
}
