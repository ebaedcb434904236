/** The reason of an error that refuses a version. */
export const versionSkew = 'VersionSkew';

/**
 * Whether an agent and a server of these versions do not go together: they may be one minor version apart, either way,
 * within a major one. What is no version of ours (a test's, a fork's) is let be.
 */
export function areTooFarApart(one: string, other: string): boolean {
  const [here, there] = [parse(one), parse(other)];
  if (here === undefined || there === undefined) return false;
  return here.major !== there.major || Math.abs(here.minor - there.minor) > 1;
}

function parse(version: string): { readonly major: number; readonly minor: number } | undefined {
  const [, major, minor] = /^v?(\d+)\.(\d+)\.\d+/.exec(version) ?? [];
  return major === undefined ? undefined : { major: Number(major), minor: Number(minor) };
}
