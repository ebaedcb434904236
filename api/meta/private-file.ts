/** What a file system says of a file. */
export interface FileFacts {
  readonly mode: number;
  readonly uid: number;
}

/**
 * What is wrong with a file that holds a key or a token, and what to do; undefined when it is its owner's alone. As ssh
 * judges: others must have no right to it, and it belongs to who uses it or to root. `self` is the user of this
 * process, undefined where the system knows none.
 */
export function privateFileProblem(path: string, { mode, uid }: FileFacts, self: number | undefined): string | undefined {
  if (self === undefined) return undefined;
  if ((mode & 0o077) !== 0)
    return `${path} holds a secret and others have access to it (mode ${(mode & 0o777).toString(8)}): chmod 600 ${path}`;
  if (uid !== self && uid !== 0)
    return `${path} holds a secret and belongs to user ${uid}, not to user ${self}: chown ${self} ${path}`;
  return undefined;
}

/**
 * What is wrong with a folder that holds such files; undefined when only its owner and its group can exchange what is
 * in it.
 */
export function privateFolderProblem(path: string, { mode, uid }: FileFacts, self: number | undefined): string | undefined {
  if (self === undefined) return undefined;
  if ((mode & 0o002) !== 0)
    return `${path} holds secrets and other users may replace them (mode ${(mode & 0o777).toString(8)}): chmod o-w ${path}`;
  if (uid !== self && uid !== 0)
    return `${path} holds secrets and belongs to user ${uid}, not to user ${self}: chown ${self} ${path}`;
  return undefined;
}
