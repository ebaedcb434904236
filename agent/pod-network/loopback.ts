/** Of the kernel's settings of a link: whether 127.0.0.0/8 may be the source of what leaves, and so answers return. */
const settingOf = (link: string): string => `/proc/sys/net/ipv4/conf/${link}/route_localnet`;
const opened = 'opened ';

/**
 * A shell script: what the machine itself sends from 127.0.0.1 to one of its ports may leave by these links, when the
 * port leads to a pod. The table of the pods' network drops what arrives by a link with such an address, so it has to
 * be in force. Prints "opened NAME" for each link that was not.
 */
export function openLoopbackScript(links: Iterable<string>): string {
  const names = [...links];
  if (names.length === 0) return ':';
  return [
    `for link in ${names.join(' ')}; do`,
    '  if [ -e /proc/sys/net/ipv4/conf/$link ]; then',
    // A shell that reads byte by byte gets the digit without its newline: `read` then fails.
    `    read is < ${settingOf('$link')} || :`,
    `    [ "$is" = 1 ] || { echo 1 > ${settingOf('$link')}; echo "${opened}$link"; }`,
    '  fi',
    'done',
  ].join('\n');
}

/** The links that the script printed. */
export const parseOpened = (output: string): string[] =>
  output.split('\n').flatMap((line) => (line.startsWith(opened) ? [line.slice(opened.length)] : []));

/** A shell script that gives links back the kernel's own setting. */
export const closeLoopbackScript = (links: Iterable<string>): string =>
  [...links].map((link) => `[ ! -e ${settingOf(link)} ] || echo 0 > ${settingOf(link)}`).join('\n') || ':';
