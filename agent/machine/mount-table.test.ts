import { describe, expect, it } from 'vitest';
import { MountTable, parseMountInfo } from './mount-table.ts';

/** Lines "id parent device root mountpoint type". */
function table(...lines: readonly string[]): MountTable {
  const text = lines.map((line) => {
    const [id, parent, device, root, mountPoint, type] = line.split(' ');
    return `${id} ${parent} ${device} ${root} ${mountPoint} rw,relatime - ${type} none rw`;
  });
  return new MountTable(parseMountInfo(`${text.join('\n')}\n`));
}

describe('mountinfo', () => {
  it('is read with its escapes, and with any number of tags', () => {
    const text =
      '36 35 98:0 /a\\040root /mnt/a\\040b\\134c rw,noatime master:1 shared:2 - tmpfs berth rw,size=1k\n' +
      '37 36 0:5 / /tab\\011and\\012line rw - ext4 /dev/sda\\0401 rw\n';
    expect(parseMountInfo(text)).toEqual([
      { id: 36, parentId: 35, device: '98:0', root: '/a root', mountPoint: '/mnt/a b\\c', type: 'tmpfs' },
      { id: 37, parentId: 36, device: '0:5', root: '/', mountPoint: '/tab\tand\nline', type: 'ext4' },
    ]);
  });
});

describe('the mount that a path is on', () => {
  const plain = ['1 0 8:1 / / ext4', '2 1 0:2 / /data tmpfs', '3 2 0:3 / /data/inner tmpfs', '4 1 0:4 / /data-2 tmpfs'];

  it.each([
    ['/', '/'],
    ['/etc/passwd', '/'],
    ['/data', '/data'],
    ['/data/x', '/data'],
    ['/data/inner', '/data/inner'],
    ['/data/inner/y', '/data/inner'],
    ['/data/innermost', '/data'],
    ['/data-2/x', '/data-2'],
    ['/data-3', '/'],
  ])('of %s is the one at %s', (path, mountPoint) => expect(table(...plain).at(path).mountPoint).toBe(mountPoint));

  it('is the one that was mounted on top, which hides what is mounted below', () => {
    const covered = table(...plain, '5 2 0:5 / /data tmpfs');
    expect(covered.at('/data/x').id).toBe(5);
    expect(covered.at('/data/inner').id).toBe(5);
    expect(covered.visible().map(({ id }) => id)).toEqual([1, 4, 5]);
  });

  it('is the one that was there before when another one was pushed below it later', () => {
    const pushed = table('1 0 8:1 / / ext4', '2 3 8:2 /a /data ext4', '3 1 8:3 /b /data ext4');
    expect(pushed.at('/data/x').id).toBe(2);
    expect(pushed.visible().map(({ id }) => id)).toEqual([1, 2]);
  });

  it('may be one that covers the root', () => {
    const covered = table('1 0 8:1 / / ext4', '2 1 0:2 / / tmpfs', '3 1 0:3 / /data tmpfs');
    expect([covered.root.id, covered.at('/data').id]).toEqual([1, 2]);
  });

  it('is unknown without a root', () => expect(() => table('2 1 0:2 / /data tmpfs')).toThrow('no file system is mounted at "/"'));
});

describe('the identity of a file', () => {
  it('is the same in two namespaces that show the same file at different paths', () => {
    const host = table('1 0 8:1 / / ext4', '2 1 8:2 / /disk ext4');
    const container = table('9 0 0:9 / / overlay', '10 9 8:2 /volumes/v /data ext4');
    expect(container.identityAt('/data/a/b')).toEqual({ device: '8:2', path: '/volumes/v/a/b' });
    expect(host.identityAt('/disk/volumes/v/a/b')).toEqual({ device: '8:2', path: '/volumes/v/a/b' });
    expect(container.identityAt('/data')).toEqual(host.identityAt('/disk/volumes/v'));
  });
});
