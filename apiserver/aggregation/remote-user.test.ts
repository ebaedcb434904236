import { expect, it } from 'vitest';
import { remoteUserHeaders } from './remote-user.ts';

it('says who calls in the headers of Kubernetes', () => {
  const extra = { 'authentication.kubernetes.io/Pod-Name': ['web'], 'a%b': ['1', '2'] };
  expect(remoteUserHeaders({ user: 'anna', uid: 'u', groups: ['a', 'b'], extra })).toEqual({
    'X-Remote-User': 'anna',
    'X-Remote-Uid': 'u',
    'X-Remote-Group': ['a', 'b'],
    'X-Remote-Extra-authentication.kubernetes.io%2Fpod-name': ['web'],
    'X-Remote-Extra-a%25b': ['1', '2'],
  });
  expect(remoteUserHeaders({ user: 'anna', groups: [] })).toEqual({ 'X-Remote-User': 'anna' });
});

it('sends names as UTF-8', () => {
  const { 'X-Remote-User': user } = remoteUserHeaders({ user: 'jürgen', groups: [] });
  expect(Buffer.from(String(user), 'latin1').toString('utf8')).toBe('jürgen');
});

it.each(['a\r\nX-Remote-Group: system:masters', 'a\0', 'a\x7f'])('refuses a name that would break the header: %j', (name) => {
  expect(() => remoteUserHeaders({ user: name, groups: [] })).toThrow('cannot be passed');
  expect(() => remoteUserHeaders({ user: 'a', groups: [name] })).toThrow('cannot be passed');
});
