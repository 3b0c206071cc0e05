// Faults of a page that took text for something else, as a list of words.
(() => {
  const faults = [];
  const foreign = 'img,iframe,object,embed,video,source,math,template,base,style,foreignObject,mglyph,x,script:not([src]),meta[http-equiv]:not([content="5"]),link[rel=stylesheet]:not([href="/assets/console.css"]),script[src]:not([src="/assets/console.js"]),dialog[open],h1 + h1,input[autofocus],form[action^="//"],[formaction],a[href^="javascript:"],[style],b b,main > b,i,u';
  for (const e of document.querySelectorAll(foreign)) faults.push('element: ' + e.outerHTML.slice(0, 60));
  for (const e of document.querySelectorAll('*')) for (const a of e.attributes) {
    if (a.name.startsWith('on') || a.name === 'srcdoc' || (a.name === 'xlink:href' && /script:/.test(a.value))) faults.push('attribute: ' + a.name);
  }
  if (document.querySelectorAll('h1').length > 1) faults.push('a second h1');
  const text = document.documentElement.textContent + document.title;
  const bare = text.match(/[\u0001-\u0008\u000b\u000c\u000d\u000e-\u001f\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]|\udb40[\udc00-\udc7f]/);
  if (bare) faults.push('a character that is not printed: ' + bare[0].codePointAt(0).toString(16));
  if (window.hostileRan) faults.push('script ran');
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) faults.push('scrolls sideways: ' + root.scrollWidth);
  return [...new Set(faults)].slice(0, 8);
})()
