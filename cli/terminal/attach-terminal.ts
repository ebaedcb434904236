import type { Pod } from '../../api/generated/types.ts';
import { containerOf } from '../args/pod-container.ts';
import { chooseTerminal, type TerminalOptions } from './terminal.ts';

/** The flags as far as the container was started for them; says what is not possible. */
export function attachTerminal(
  pod: Pod,
  container: string,
  { stdin = false, tty = false }: { readonly stdin?: boolean; readonly tty?: boolean },
): TerminalOptions {
  const spec = containerOf(pod, container);
  if (stdin && !spec?.stdin)
    process.stderr.write(`Unable to use standard input - container ${container} was started without "stdin: true"\n`);
  if (tty && !spec?.tty) process.stderr.write(`Unable to use a TTY - container ${container} did not allocate one\n`);
  return chooseTerminal({ stdin: stdin && spec?.stdin === true, tty: tty && spec?.tty === true });
}
