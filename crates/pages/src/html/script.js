document.querySelectorAll('.cmd').forEach(function (box) {
  if (!navigator.clipboard) { return; }
  var button = document.createElement('button');
  button.type = 'button';
  button.textContent = 'copy';
  button.addEventListener('click', function () {
    navigator.clipboard.writeText(box.querySelector('code').textContent).then(function () {
      button.textContent = 'copied';
      setTimeout(function () { button.textContent = 'copy'; }, 1500);
    });
  });
  box.classList.add('can');
  box.appendChild(button);
});
