import { readFileSync } from 'node:fs';
import { packageVersion } from '../../cli/commands/version.ts';

/** A program: its version, and the build of that version; "" of a program that was not built, or does not tell. */
export interface BerthBuild {
  readonly version: string;
  readonly build: string;
}

/** What this program is. hack/bundle.js writes its id beside it; a program that runs from its sources has none. */
export function ownBuild(): BerthBuild {
  const version = packageVersion();
  try {
    return { version, build: readFileSync(new URL('build-id', import.meta.url), 'utf8').trim() };
  } catch {
    return { version, build: '' };
  }
}
