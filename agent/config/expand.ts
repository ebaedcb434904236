import { ContainerConfigError } from './config-error.ts';

/**
 * Linux starts no program with more arguments and variables than this, whatever the machine's limits (execve(2)).
 * References to references double with each line of a manifest: without a bound a small one fills the memory.
 */
export const mostTextLength = 6 * 1024 * 1024;

/**
 * Kubernetes' $(NAME): replaced by the variable's value; "$$" is a "$" that starts nothing; a name that is not known
 * stays as it is. Throws ContainerConfigError when more than `most` characters come out.
 */
export function expand(text: string, variables: ReadonlyMap<string, string>, most = mostTextLength): string {
  let length = text.length;
  return text.replace(/\$(\$|\(([^()]*)\))/g, (whole, inner: string, name: string | undefined) => {
    if (inner === '$') return '$';
    const value = variables.get(name ?? '');
    if (value === undefined) return whole;
    length += value.length - whole.length;
    if (length > most) throw tooMuch();
    return value;
  });
}

/** Several texts, bounded together. */
export function expandAll(texts: readonly string[], variables: ReadonlyMap<string, string>): string[] {
  let left = mostTextLength;
  return texts.map((text) => {
    const expanded = expand(text, variables, left);
    left -= expanded.length;
    if (left < 0) throw tooMuch();
    return expanded;
  });
}

export function tooMuch(): ContainerConfigError {
  const most = `${mostTextLength / 1024 / 1024} MiB`;
  return new ContainerConfigError(`its variables or arguments have more than ${most}: no program can be started with that`);
}
