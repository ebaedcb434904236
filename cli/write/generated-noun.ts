import type { Command } from 'commander';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import { withSession } from '../session.ts';
import { type WriteFlags, withWriteFlags } from './write-options.ts';

type Generators = typeof import('../generators/objects.ts');

/** A noun whose object is made of its name, flags and, with `takesCommand`, the words behind "--". */
export function addGenerator<Flags>(
  noun: Command,
  make: (generators: Generators, name: string, flags: Flags, words: readonly string[]) => JsonObject,
  { takesCommand = false } = {},
): void {
  noun.argument('<name>', 'its name');
  if (takesCommand) noun.argument('[command...]', 'behind --: the command of the container');
  withWriteFlags(noun).action(async (name: string, ...rest: unknown[]) => {
    const words = takesCommand ? (rest[0] as string[]) : [];
    // `create` itself takes some of the same flags, and gets them first.
    const flags = noun.optsWithGlobals<Flags & WriteFlags>();
    const object = make(await import('../generators/objects.ts'), name, flags, words);
    const { createGenerated } = await import('../write/write-object.ts');
    await withSession(noun, (session) => createGenerated(session, object, flags, 'berth-create'));
  });
}
