import { addresses } from './addresses.ts';
import { authorization } from './authorization.ts';
import type { Handler, Library } from './library.ts';
import { lists, sets } from './lists.ts';
import { namedFormats } from './named-formats.ts';
import { optionals } from './optionals.ts';
import { quantities } from './quantities.ts';
import { regex } from './regex.ts';
import { standard } from './standard.ts';
import { strings } from './strings.ts';
import { times } from './times.ts';
import { urls } from './urls.ts';
import { versions } from './versions.ts';

export type { Handler, Library } from './library.ts';

/** Every CEL library that rules may use. Where two have a function of the same name, the later one serves both. */
export const LIBRARIES: readonly Library[] = [
  standard,
  times,
  strings,
  lists,
  sets,
  regex,
  urls,
  addresses,
  quantities,
  versions,
  namedFormats,
  optionals,
  authorization,
];

export const HANDLERS: Readonly<Record<string, Handler>> = Object.assign(
  Object.create(null),
  ...LIBRARIES.map((library) => library.handlers),
);
